"""
Lorenz 63 with noise and gaps (simulated)
=========================================

**Source.** Simulated, so that the truth is known: `docs/scripts/demo_data.py`, bundled
with the package. 200 rows, a tenth of the values and 15 whole rows missing.
**Question.** Are gaps and noise of a tenth of the range too much?
"""

import polars as pl

import graphgrad as gg
from gallery_tools import say
from graphgrad.demo import beside_lorenz, demo_data

frame = pl.read_csv(demo_data())
print(frame.null_count())

# %%
# **The fit**, with default settings, beside the truth.
model = gg.GraphGrad().fit(frame)
say(model)
print("\n".join(beside_lorenz(model)))

# %%
axes = model.plot_states()

# %%
# **A simpler method** cannot take these data: a regression of differences, such as
# PySINDy's, needs every value of neighbouring rows, so gaps would have to be filled
# first.
#
# **What not to conclude.** That everything is right because the terms are: residuals
# of two columns are smaller than the model expects, so that its bands of one step are
# too wide there.
