"""X"""
import numpy as np
import graphgrad as gg
from gallery_tools import say
beds = np.array([3, 8, 28, 75, 221, 291, 255, 235, 190, 125, 70, 28, 12, 5], float)
model = gg.models.sir(population=763).fit(beds[:, None])
say(model)
growth = np.polyfit(np.arange(4), np.log(beds[:4]), 1)[0]
print(growth)
