"""When the likelihood vanishes: Sec. V-B, 200 systems, single precision."""

from ..plan import Cell, Study
from ..printed import printed

STUDIES = (
    Study(
        name="lorenz63-degeneracy",
        title="Lorenz 63: steps before the likelihood vanishes, single precision",
        cells=tuple(
            Cell(
                f"K={K}",
                K,
                "lorenz63_unscaled",
                {"dt": 0.025},
                steps=200,
                settings={"particles": K},
            )
            for K in (5, 10, 20, 50, 100, 250, 500, 1000)
        ),
        methods=("plain-filter", "log-filter", "plain-filter-true", "log-filter-true"),
        metrics=("steps", "steps_product"),
        paper=printed("lorenz63-degeneracy"),
        chunk=200,
        axis="K",
        remarks=(
            "200 systems in single precision, the bootstrap filter of Alg. 1 with K "
            "particles; the paper states neither how C nor how the start is drawn. "
            "Here C is from U(-1, 1), where its algorithms start, and x_0 from "
            "N(0, I). The process noise has variance 1 (Sec. III-C); draws that "
            "diverged within 200 steps were redrawn. 200 is the maximum count.",
            "steps: until the likelihood of one step is zero, since no particle has a "
            "weight that single precision can represent. steps product: until the "
            "likelihood of all steps so far is zero. The filters that end in `-true` "
            "know the true C.",
            "What agrees with the paper: with a random C the likelihood vanishes "
            "within a few steps, more particles hardly delay that, and logarithms do "
            "not prevent it, since the particles themselves overflow. What does not: "
            "the number of steps. It is 3 to 8 steps here, not 8 to 111, and hardly "
            "depends on K. The product vanishes for the true C as well, after 10 to 15 "
            "steps, and on average no other C explains the data better: the paper's "
            "111 steps cannot be those of the product. Step by step, or in logarithms, "
            "the true C lasts to the end except with the fewest particles.",
        ),
    ),
)
