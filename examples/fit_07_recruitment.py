"""
El Nino and new fish in the Pacific, 1950 to 1987
=================================================

**Source.** US Pacific Environmental Fisheries Group; astsa ``soi``, ``rec``, monthly.
**Question.** After how many months does the Southern Oscillation Index act on the
number of new fish?
"""

import matplotlib.pyplot as plt

import graphgrad as gg
from gallery_tools import beside, load, say

data = load("recruitment")
fish, index = data.y[["recruits"]], data.y[["soi"]]

# %%
# **The fit** of an output that an input drives: delays of up to six months are
# candidates. The index acts after five months (`soi[t-4]` in the equation of t + 1),
# with the opposite sign a month later. The outcome is `doubtful`, since the residuals
# have heavy tails: one month is far outside.
model = gg.models.driven_process("recruits", "soi", delay=6)
model.fit(fish[: data.first], inputs=index[: data.first])
say(model)

# %%
model.plot_residuals()
plt.show()

# %%
# **The checks and a simpler method.** The autoregression knows the fish only. The
# index of the months ahead is given here, of which those up to five months are known
# at the time.
beside(model, fish, data.first, (1, 3, 6), index)

# %%
# Shumway and Stoffer, *Time Series Analysis and Its Applications*, chose 12 + 0.8
# recruits - 21 soi by hand from lagged correlations, with the same delay.
#
# **What not to conclude.** A delay in an equation is no experiment: something else
# may drive the index and the fish. The outcome says that the
# noise is not normal.
