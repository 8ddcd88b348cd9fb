"""X"""
import graphgrad as gg
from gallery_tools import beside, load, say
data = load("co2")
model = gg.GraphGrad(dt=1.0).fit(data.y[: data.first], inputs=data.inputs[: data.first])
say(model)
beside(model, data.y, data.first, (1, 4, 13, 26), data.inputs)
