"""The graph of the states implied by the coefficients: Sec. III-B.

There is an edge from b to a where b acts on a, that is where `adjacency[a, b]` is true.
"""

from .adjacency import adjacency as adjacency
from .adjacency import adjacency_table as adjacency_table
from .adjacency import influence_ranking as influence_ranking
from .adjacency import subsystems as subsystems
from .adjacency import term_graphs as term_graphs
from .comparison import GraphComparison as GraphComparison
from .comparison import compare_graphs as compare_graphs
from .export import save_graphml as save_graphml
from .export import to_dot as to_dot
from .network import to_networkx as to_networkx
