"""⑤ Figures: what to show (`choose`), drawn with matplotlib (`panels`), as clean SVG (`svg`)."""
