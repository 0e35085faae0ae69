# stage: unsafe; without checks: runtime
import ctypes

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    ctypes.string_at(0)
