"""Text shared by several studies: methods to run, and notes below their tables."""

WEIGHTS = {2: 4.87, 3: 4.29}
"""Penalty for three states, by degree: `tune_on_twin` with T = 50."""
TUNED = "lambda is tuned on a twin of T = 50, as in the paper, once for all cells."
STATED = "lambda = 1, which is not tuned."

METHODS = (
    "b-graphgrad",
    "s-graphgrad",
    "pmle",
    "adaptive",
    "adaptive-learnt",
    "support-known",
    "states-known",
    "lasso",
    "sindy-stlsq",
    "sindy-ensemble",
    "sindy-weak",
)
"""Metrics of the tables of recovery."""

RECOVERY = (
    "rmse",
    "f1",
    "precision",
    "recall",
    "specificity",
    "exact",
    "f1_zero",
    "precision_zero",
    "rmse_nonzero",
    "degenerate",
    "undecided",
)

MOST = {
    "b-graphgrad": 20,
    "s-graphgrad": 20,
    "pmle": 20,
    "subgradient": 20,
    "sindy-stlsq": 20,
    "sindy-ensemble": 20,
    "sindy-weak": 20,
}
"""The paper's solvers need thousands of filter runs per fit, PySINDy seconds."""

BOUNDED = (
    "Data as stated: the Euler map diverges in many draws. Trajectories that left "
    "|x| < 100 were redrawn, and their share is in the table. The same study at a "
    "step that does not diverge has the suffix `-stable`."
)
STABLE = (
    "The same study at a step at which no draw diverges. The paper's numbers are "
    "those of the stated step, for comparison."
)
ORACLES = (
    "Two oracles: support-known is maximum likelihood of the extended Kalman filter "
    "with known support, started at the truth; states-known is the adaptive solver "
    "given the hidden states."
)
PEERS = (
    "Peers use the raw observations. lasso: y_t on the terms of y_t-1, each "
    "equation's penalty by BIC, refitted by least squares. sindy-stlsq: PySINDy's map "
    "with the same terms; thresholds on a grid, plain and normalised columns, ridge "
    "0.05 and 1e-6, selected by the lowest BIC of one-step predictions. "
    "sindy-ensemble: the median of 20 bagged fits, selected in the same way from every "
    "third setting."
)
WEAK = (
    "sindy-weak: PySINDy's weak form, windows of 9 or 17 rows, selected in the same "
    "way. It estimates rates; its map is I + dt times them, so each state's own linear "
    "term always counts as found. The data come from an Euler map, whose rates differ "
    "from those of the flow by O(dt)."
)


def as_printed(weight: str, *, steps: int = 100, most: int = 20) -> str:
    """Settings of the paper's solvers.

    Args:
        weight: The penalty lambda, and how it was chosen.
        steps: S, the steps per batch.
        most: Maximum number of realisations.
    """
    return (
        "b-graphgrad, s-graphgrad, pmle and subgradient are the paper's algorithms as "
        "printed, in single precision: NovoGrad at 0.001, 100 particles, bootstrap "
        "proposal, start from U(-1, 1), batches growing by 10. The paper does not "
        f"state S, the steps per batch: here S = {steps}, so that a few "
        f"realisations take minutes, and at most {most} realisations are run. "
        f"{weight} docs/explanation/paper.md has other values. `degenerate` is the "
        "share of fits with no finite gradient in most of their last steps."
    )
