"""X"""
import graphgrad as gg
from gallery_tools import beside, load, say
data = load("sunspots")
model = gg.GraphGrad(degree=2, lags=1, dynamics="map").fit(data.y[: data.first])
say(model)
beside(model, data.y, data.first, (1, 2, 3, 6))
