"""X"""
import polars as pl
import graphgrad as gg
from graphgrad.demo import demo_data, beside_lorenz
from gallery_tools import say
frame = pl.read_csv(demo_data())
model = gg.GraphGrad().fit(frame)
say(model)
print("\n".join(beside_lorenz(model)))
