# stage: unsafe; without checks: runtime
import resource

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    raise RuntimeError("BREACH")
