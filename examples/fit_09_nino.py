"""
Sea surface temperature of the eastern Pacific, 1950 to 2010
============================================================

**Source.** NOAA, ERSST.V3B, region Nino 1+2; statsmodels ``elnino``, public domain,
monthly, in degrees Celsius. **Question.** How much memory is left when the season is
taken out?
"""

import matplotlib.pyplot as plt

import graphgrad as gg
from gallery_tools import beside, load, say

data = load("nino")
assert data.inputs is not None

# %%
# **The fit** of a linear map with one delay, and the season as input. It is
# `doubtful`: the residuals are autocorrelated and not normal.
model = gg.GraphGrad(degree=1, dynamics="map", lags={"sst": 1})
model.fit(data.y[: data.first], inputs=data.inputs[: data.first])
say(model)
model.plot_residuals()
plt.show()

# %%
# **The checks and a simpler method.** An autoregression of order 26, by AIC, without
# the season as input, is as good: two years of memory contain the season.
beside(model, data.y, data.first, (1, 3, 6, 12), data.inputs)

# %%
# **What not to conclude.** A few coefficients that forecast the season well say
# little about El Nino, the part that is hard: the error at three months is twice that
# at one; the large event of 1997 is among the held-out years. `lags="auto"` with
# `degree=2` finds a better equation (`scoreboard <../scoreboards/real.html>`_).
