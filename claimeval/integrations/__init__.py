"""At home in other tools: pytest, notebooks, platforms. One file each, imported by nobody, asleep until used."""
