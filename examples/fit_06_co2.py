"""
Carbon dioxide at Mauna Loa, 1992 to 2001
=========================================

**Source.** Keeling and Whorf (2004), CDIAC; statsmodels ``co2``, public domain, weekly,
in ppm. **Question.** How fast does it rise, and what does the season do?
"""

import matplotlib.pyplot as plt

import graphgrad as gg
from gallery_tools import beside, load, say

data = load("co2")
assert data.inputs is not None

# %%
# **The fit**, with sine and cosine of the year as inputs. The constant is the rise
# per week, apart from what the squares add; products of sine and cosine are the
# half-yearly part of the season.
model = gg.GraphGrad(dt=1.0)
model.fit(data.y[: data.first], inputs=data.inputs[: data.first])
say(model)
model.plot_states()
plt.show()

# %%
# **The checks and a simpler method.** The autoregression here is not given the
# season; the one of the `scoreboard <../scoreboards/real.html>`_ is, and is beaten
# too. Bands of long horizons are somewhat too wide.
beside(model, data.y, data.first, (1, 4, 13, 26), data.inputs)

# %%
# **What not to conclude.** `dco2/dt` does not depend on the concentration itself:
# over ten years the rise looks constant. That is no reason to extrapolate it over
# decades, in which it has accelerated.
