"""What each kind of fault does to a simulated node: one module for each part of it. Done to hardware, never to signals."""
