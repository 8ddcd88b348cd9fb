"""
Sales with a leading indicator
==============================

**Source.** Box and Jenkins (1970), series M; astsa ``sales``, ``lead``, 150 months.
**Question.** How long before the sales does the indicator move?
"""

import matplotlib.pyplot as plt

import graphgrad as gg
from gallery_tools import beside, load, say

data = load("sales")
assert data.inputs is not None

# %%
# **The fit**: linear terms, and the indicator of up to four months before. It selects
# a delay of three months, which is the textbook's answer. The outcome is `doubtful`,
# since the residuals are autocorrelated.
model = gg.GraphGrad(degree=1, dt=1.0, lags={"lead": 4})
model.fit(data.y[: data.first], inputs=data.inputs[: data.first])
say(model)
model.plot_residuals()
plt.show()

# %%
# **The checks and a simpler method.** The autoregression does not see the indicator.
# The `scoreboard <../scoreboards/real.html>`_ has a vector autoregression that does,
# which is better up to three months ahead and worse after that. Our bands hold 90 to
# 95 %.
beside(model, data.y, data.first, (1, 3, 6), data.inputs)

# %%
# **What not to conclude.** That the indicator causes the sales, and that the equation
# is complete: Box and Jenkins model the noise as a moving average, which is not among
# the terms.
