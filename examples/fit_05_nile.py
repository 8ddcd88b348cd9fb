"""
The Nile at Aswan, 1871 to 1970
===============================

**Source.** Cobb, Biometrika 65 (1978); statsmodels ``nile``, public domain, in 1e8
cubic metres a year. **Question.** Is there an equation at all?
"""

import matplotlib.pyplot as plt

import graphgrad as gg
from gallery_tools import beside, load, say

data = load("nile")

# %%
# **The fit** of the first 56 years ends with `nothing_left`: no term but a constant,
# a slow decrease, lowers the criterion.
model = gg.GraphGrad(dt=1.0).fit(data.y[: data.first])
say(model)
model.plot_states()
plt.show()

# %%
# **The checks and a simpler method.** An autoregression is as good one year ahead and
# somewhat better after that: there is little to predict. All held-out rows are in our
# bands, which are too wide.
beside(model, data.y, data.first, (1, 2, 5))

# %%
# **What not to conclude.** The decrease is not a trend that goes on. The level fell
# around 1898, when the first dam was begun; a level that jumps once has no equation,
# and a model of a change point is the right one. That nothing was found is the useful
# answer here.
