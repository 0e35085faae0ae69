# stage: timeout
import time

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    time.sleep(1000)
    return unvisited_nodes[0]
