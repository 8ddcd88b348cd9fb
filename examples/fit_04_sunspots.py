"""
Sunspots, 1700 to 2008
======================

**Source.** US National Geophysical Data Center; statsmodels ``sunspots``, public
domain. **Question.** Is the cycle of eleven years described by an equation with a
memory of two years?
"""

import matplotlib.pyplot as plt

import graphgrad as gg
from gallery_tools import beside, load, say

data = load("sunspots")

# %%
# **The fit** of the first 232 years: a map in which the year before the last is a
# variable too. The process noise is not normal, and one year is far outside.
model = gg.GraphGrad(degree=2, dynamics="map", lags=1).fit(data.y[: data.first])
say(model)
model.plot_states()
plt.show()

# %%
# **The checks and a simpler method.** An autoregression of nine years, chosen by AIC,
# is better at every horizon, and our bands hold 79 to 86 % in place of 90 %.
beside(model, data.y, data.first, (1, 2, 3, 6))

# %%
# **What not to conclude.** That large cycles rise faster than they fall is known, and
# the products of this year and the last may describe it; they are no mechanism of the
# sun. With `lags="auto"` the memory is eight years and the errors come close to those
# of the autoregression (`scoreboard <../scoreboards/real.html>`_).
