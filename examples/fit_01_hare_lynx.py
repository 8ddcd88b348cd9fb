"""
Hares and lynxes, 1900 to 1920
==============================

**Source.** Pelts traded by the Hudson's Bay Company, in thousands: Odum, *Fundamentals
of Ecology* (1953), via Howard (2009) and Carpenter's case study of Stan (2018). Bundled
with the package. **Question.** Which equations do predator and prey follow?
"""

import pandas as pd
import pysindy as ps

import graphgrad as gg
from gallery_tools import say
from graphgrad.demo import hare_lynx_data

frame = pd.read_csv(hare_lynx_data())

# %%
# **The fit**, with default settings. `undecided` says that a constant might be there
# too; all residuals are as they should be.
model = gg.GraphGrad().fit(frame)
say(model)
for other in model.alternatives()[:3]:
    print(f"weight {other.weight:.2f}: {other.words}")

# %%
# The phase portrait: data, smoothed states and the vector field of the equations.
axes = model.plot_phase()

# %%
# **A simpler method**: PySINDy, a regression of finite differences, with a threshold
# chosen by hand. With 21 rows a derivative by differences is too rough: it keeps nine
# terms, with coefficients that depend on the threshold.
sindy = ps.SINDy(ps.STLSQ(threshold=0.01), ps.PolynomialLibrary(2))
sindy.fit(frame[["hare", "lynx"]].to_numpy(), t=1.0, feature_names=["hare", "lynx"])
sindy.print()

# %%
# **What not to conclude.** Pelts are not animals: trade depends on trappers and
# prices. Four terms that fit 21 rows are a hypothesis. The longer record does not
# confirm it: next page.
