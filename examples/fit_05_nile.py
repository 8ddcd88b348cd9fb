"""X"""
import graphgrad as gg
from gallery_tools import beside, load, say
data = load("nile")
model = gg.GraphGrad(dt=1.0).fit(data.y[: data.first])
say(model)
beside(model, data.y, data.first, (1, 2, 5))
