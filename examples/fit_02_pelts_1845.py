"""
Hares and lynxes, 1845 to 1935
==============================

**Source.** Hudson's Bay Company, by MacLulich (1937) and Odum (1953); astsa ``Hare``,
``Lynx``. **Question.** Do the equations of 1900 to 1920 hold for 91 years?
"""

import matplotlib.pyplot as plt

import graphgrad as gg
from gallery_tools import beside, load, say

data = load("pelts")

# %%
# **The fit** of the first rows; the others are held out. It is `doubtful`: the
# residuals of the lynx are autocorrelated, and the hares have no equation at all.
model = gg.GraphGrad(dt=1.0).fit(data.y[: data.first])
say(model)
axes = model.plot_states()

# %%
# **The checks and a simpler method.** A vector autoregression forecasts clearly
# better.
beside(model, data.y, data.first, (1, 2, 5))

# %%
# The residuals: one year of the hares is far outside, and those of the lynx follow
# each other.
model.plot_residuals()
plt.show()

# %%
# **What not to conclude.** Neither that there is no interaction, nor that Lotka and
# Volterra were wrong: the record was put together from several sources. A fit that
# says `doubtful` is to be read as "not like this".
