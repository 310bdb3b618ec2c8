def calls():
    return []
