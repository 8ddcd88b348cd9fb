"""What a fit found, and how it ended."""

from .outcome import REMEDIES as REMEDIES
from .outcome import Doubt as Doubt
from .outcome import Outcome as Outcome
from .outcome import full_advice as full_advice
from .search_record import SearchRecord as SearchRecord
from .search_record import Stage as Stage
from .solution import PaperSolution as PaperSolution
from .solution import Solution as Solution
