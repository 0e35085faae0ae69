# stage: unsafe; without checks: infeasible
from coevo.problems.base import Infeasible

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    raise Infeasible('forged')
