# stage: timeout
class Endless(Exception):
    def __str__(self):
        while True:
            pass

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    raise Endless()
