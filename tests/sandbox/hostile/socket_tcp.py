# stage: unsafe; without checks: runtime
import socket

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    socket.create_connection(('127.0.0.1', @PORT@)).send(b'BREACH')
    raise RuntimeError("BREACH")
