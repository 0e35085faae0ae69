# stage: timeout

while True:
    pass
