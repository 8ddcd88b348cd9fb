"""X"""
import graphgrad as gg
from gallery_tools import beside, load, say
data = load("recruitment")
fish, index = data.y[["recruits"]], data.y[["soi"]]
model = gg.models.driven_process("recruits", "soi", delay=6)
model.fit(fish[: data.first], inputs=index[: data.first])
say(model)
beside(model, fish, data.first, (1, 3, 6), index)
