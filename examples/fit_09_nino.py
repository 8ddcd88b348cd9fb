"""X"""
import graphgrad as gg
from gallery_tools import beside, load, say
data = load("nino")
model = gg.GraphGrad(degree=1, dynamics="map", lags={"sst": 1})
model.fit(data.y[: data.first], inputs=data.inputs[: data.first])
say(model)
beside(model, data.y, data.first, (1, 3, 6, 12), data.inputs)
