"""
Influenza in a boarding school, 1978
====================================

**Source.** Boys in bed, of 763: British Medical Journal, 4 March 1978, page 587.
**Question.** How fast does it spread, from the infected alone? Nobody counted who was
susceptible: two of three states are hidden.
"""

import matplotlib.pyplot as plt
import numpy as np

import graphgrad as gg
from gallery_tools import say

beds = np.array([3, 8, 28, 75, 221, 291, 255, 235, 190, 125, 70, 28, 12, 5], float)

# %%
# **The fit** of a model of known structure: `gg.models.sir` has the constraints, the
# rates are estimated. States are shares of the population, rates per day.
model = gg.models.sir(population=763).fit(beds[:, None])
say(model)
infection = model.coef_[1, model.terms_.index("S I")]
recovery = -model.coef_[1, model.terms_.index("I")]
print(f"A boy infects {infection / recovery:.1f} others at first.")

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(beds, "o", label="in bed")
axes.plot(763 * model.state_means_[:, 1], label="infected, smoothed")
axes.set(xlabel="day", ylabel="boys")
axes.legend()
plt.show()

# %%
# **The checks.** 14 rows are too few to test residuals. **A simpler method**: the
# slope of the logarithm over the first four days is infection minus recovery.
growth = np.polyfit(np.arange(4), np.log(beds[:4]), 1)[0]
print(
    f"Growth per day: {growth:.2f} by the slope, {infection - recovery:.2f} by the fit"
)

# %%
# **What not to conclude.** Boys in bed are not the infected: a boy was sent to bed
# when he felt ill and stayed for about two days. A latent period cannot be told from
# these numbers: `gg.models.seir` ends with the outcome `not_determined`.
