"""The compared methods: a name, and a function that fits and scores a chunk."""

from ..plan import Method
from . import adaptive, flow, lasso, sindy, yardstick
from .degeneracy import FILTERS
from .filtering import STATES
from .flow_sindy import SINDY
from .paper import SOLVERS, graphgrad
from .starts import several_starts
from .timing import TIMED

METHODS: dict[str, Method] = {
    **{name: graphgrad(name) for name in SOLVERS},
    "multistart": several_starts,
    "adaptive": adaptive.gaussian,
    "adaptive-learnt": adaptive.learnt,
    "adaptive-particle": adaptive.particle,
    "support-known": yardstick.support_known,
    "states-known": adaptive.states_known,
    "lasso": lasso.lasso,
    "sindy-stlsq": sindy.stlsq,
    "sindy-ensemble": sindy.ensemble,
    "sindy-weak": sindy.weak,
    "flow": flow.flow,
    "flow-noise-given": flow.noise_given,
    "flow-ode-given": flow.ode_given,
    "flow-one-unknown": flow.one_unknown,
    **SINDY,
    **FILTERS,
    **TIMED,
    **STATES,
}
