# stage: unsafe; without checks: runtime
import os

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    os.posix_spawn('/bin/true', ['true'], {})
    raise RuntimeError("BREACH")
