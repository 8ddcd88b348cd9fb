"""X"""
import pandas as pd
import graphgrad as gg
from graphgrad.demo import hare_lynx_data
from gallery_tools import say
frame = pd.read_csv(hare_lynx_data())
model = gg.GraphGrad().fit(frame)
say(model)
import pysindy as ps
sindy = ps.SINDy(ps.STLSQ(threshold=0.01), ps.PolynomialLibrary(2))
sindy.fit(frame[["hare", "lynx"]].to_numpy(), t=1.0, feature_names=["hare", "lynx"])
sindy.print()
