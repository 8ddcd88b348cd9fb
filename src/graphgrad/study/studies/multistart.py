"""Several starts and their consensus: Sec. IV-C, for which the paper has no numbers."""

from ..plan import Cell, Study

# As in docs/explanation/paper.md, where B-GraphGrad recovers this system.
LINEAR = {"steps": 500, "weight": 3.0, "starts": 8}

STUDIES = (
    Study(
        name="multistart",
        title="Eight starts that stop batching once they agree",
        cells=(
            *(
                Cell(
                    f"oscillator T={T}",
                    i,
                    "damped_oscillator",
                    steps=T,
                    degree=1,
                    settings=LINEAR,
                )
                for i, T in enumerate((50, 100))
            ),
            Cell(
                "Lorenz 63 T=50",
                2,
                "lorenz63",
                {"dt": 0.02},
                steps=50,
                settings={"steps": 100, "starts": 8},
            ),
        ),
        methods=("multistart", "b-graphgrad"),
        metrics=("batches", "work", "agreed", "agreeing", "f1", "rmse"),
        most={"multistart": 20, "b-graphgrad": 20},
        chunk=2,
        axis="cell",
        remarks=(
            "A damped oscillator, which B-GraphGrad recovers, and Lorenz 63, which it "
            "does not. Starts agree when more than half of them are within 0.05 of a "
            "common matrix in every entry. batches and work are shares: 1 is the cost "
            "without a consensus, work counts filter steps.",
            "b-graphgrad is one start. S = 500 and lambda = 3 for the oscillator, "
            "S = 100 and lambda = 1 for Lorenz 63.",
        ),
    ),
)
