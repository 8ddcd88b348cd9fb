"""X"""
import graphgrad as gg
from gallery_tools import beside, load, say
data = load("sales")
model = gg.GraphGrad(degree=1, dt=1.0, lags={"lead": 4})
model.fit(data.y[: data.first], inputs=data.inputs[: data.first])
say(model)
beside(model, data.y, data.first, (1, 3, 6), data.inputs)
