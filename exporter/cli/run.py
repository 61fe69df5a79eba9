"""The daemon: read the hardware, serve /metrics. SIGTERM and Ctrl-C stop it, SIGHUP reloads the configuration; the verbs check, release,
resume, reload and maintenance reach it over its control socket."""

import argparse
import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from exporter import __version__
from exporter.cli.daemon import Daemon
from exporter.cli.exits import Exit
from exporter.cli.gpus import ChildGpus
from exporter.cli.options import add_options, loaded
from exporter.cli.service import Service
from exporter.config.load import DEFAULT, Loaded
from exporter.config.mistake import Mistake, error_of
from exporter.config.schema import Web
from exporter.model.address import Address, TcpAddress, parse_address
from exporter.runtime.clock import SystemClock
from exporter.runtime.logs import set_up
from exporter.runtime.service_manager import service_manager
from exporter.web.activation import ActivationError, Passed, are_passed, take_passed
from exporter.web.bind import AddressError, bind, bind_control, mark_of, withdraw
from exporter.web.connection import Answering, Limits
from exporter.web.control import (
    MAINTENANCE_OFF_PATH,
    MAINTENANCE_ON_PATH,
    RELEASE_PATH,
    RELOAD_PATH,
    RESUME_PATH,
    Action,
    ControlRoutes,
)
from exporter.web.routes import Routes
from exporter.web.server import Listener, Tls, serve

if TYPE_CHECKING:
    from exporter.cli.simulated import SimulatedMachine
    from exporter.cli.web_file import WebFile

log = logging.getLogger("fabric_exporter.daemon")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shared flags."""
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop. Raises ConfigError for a configuration, profile or address that cannot be used."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the handler is in place: a reload right after the start must not end the daemon
    clock = SystemClock()
    first = loaded(args)
    config = first.config
    set_up(config.logging.level, config.logging.format)
    web_file = _web_file(config.web)
    manager = service_manager(os.environ, os.getpid())
    passed = _passed(first)
    addresses = _addresses(config.web)
    bound = _bind_all(addresses)
    control = control_socket(first)
    marks = {address: mark_of(address) for address in (*addresses, *control)}
    machine: SimulatedMachine | None = None
    try:
        if config.simulate.profile is not None:
            from exporter.cli import simulated  # noqa: PLC0415  # 2 MB that a daemon on hardware need not hold

            bursts = config.sources.bursts
            machine = simulated.SimulatedMachine(config.simulate.profile, clock, bursts.interval_s if bursts.enabled else None)
        gpus = ChildGpus(clock, machine.gpus if machine is not None else None)
        daemon = Daemon(first, lambda: loaded(args), clock, gpus, machine)
        open_sockets = [sock for address in addresses for sock in bound[address]] + [one.sock for one in passed]
        _announce(daemon, addresses, [sock.getsockname() for sock in open_sockets], web_file)
        asyncio.run(_serve(daemon, Service(daemon, manager, clock), config.web, bound, passed, tuple(control.values()), web_file))
        stuck = daemon.stop()
    finally:
        for address, mark in marks.items():
            withdraw(address, mark)
        if machine is not None:
            machine.close()
    log.info("stopped")
    return _leave(stuck, Exit.FINDING if daemon.failed else Exit.OK)


def control_socket(first: Loaded) -> dict[Address, socket.socket]:
    """The control socket by its address. Empty where it is switched off, cannot be made (one line in the log), or nobody asked for one
    beside a simulated node: `make demo` runs as anybody and must not stand in the way of this machine's own daemon."""
    control, simulated = first.config.control, first.config.simulate.profile is not None
    if not control.enabled or (simulated and first.origins["control.socket"] == DEFAULT):
        return {}
    try:
        address, listener = bind_control(control.socket)
    except AddressError as error:
        log.warning("no control socket, so check, release and others cannot reach this daemon: %s (option control.socket)", error)
        return {}
    return {address: listener}


def _passed(first: Loaded) -> tuple[Passed, ...]:
    """The sockets that systemd opened for us, if the configuration asks for them. Raises ConfigError in one line."""
    if not first.config.web.systemd_socket:
        if are_passed(os.environ, os.getpid()):
            log.warning("systemd passed sockets that are not used: set web.systemd_socket (--web.systemd-socket)")
        return ()
    if first.origins["web.listen_addresses"] != DEFAULT:
        log.warning("web.listen_addresses is not used: web.systemd_socket takes the sockets that systemd opened")
    try:
        return take_passed(os.environ, os.getpid())
    except ActivationError as error:
        raise error_of((Mistake("web.systemd_socket", str(error)),)) from None


def _web_file(web: Web) -> "WebFile | None":
    """The web configuration file, None where none is named. Raises ConfigError with every mistake in it."""
    if web.config_file is None:
        return None
    from exporter.cli.web_file import WebFile  # noqa: PLC0415  # TLS and passwords, which most daemons go without

    return WebFile(web.config_file)


def _guarded(routes: Routes, web_file: "WebFile | None") -> tuple[Answering, Tls | None]:
    """What the listen addresses answer with and speak; the health address and the control socket stay as they are."""
    if web_file is None:
        return routes, None
    from exporter.web.guard import Guard  # noqa: PLC0415  # as above

    return Guard(routes, web_file.security), web_file.context


def _addresses(web: Web) -> list[Address]:
    listen = () if web.systemd_socket else web.listen_addresses
    health = [web.health_address] if web.health_address else []
    return [parse_address(text) for text in (*listen, *health)]


def _bind_all(addresses: Sequence[Address]) -> dict[Address, tuple[socket.socket, ...]]:
    """Sockets by address; none is left open if one fails. Raises ConfigError in one line."""
    bound: dict[Address, tuple[socket.socket, ...]] = {}
    for address in addresses:
        try:
            bound[address] = bind(address)
        except AddressError as error:
            for earlier, sockets in bound.items():
                for sock in sockets:
                    sock.close()
                withdraw(earlier, mark_of(earlier))
            raise error_of((Mistake("web", str(error)),)) from None
    return bound


async def _serve(daemon: Daemon, service: Service, web: Web, bound: dict[Address, tuple[socket.socket, ...]], passed: Sequence[Passed],
                 control: Sequence[socket.socket], web_file: "WebFile | None") -> None:  # fmt: skip
    """Connect signals and listeners, then serve until SIGTERM or SIGINT."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, _reload_aside, service)
    routes = Routes.of(metrics=daemon.metrics, healthy=daemon.healthy, ready=daemon.ready, landing=daemon.landing,
                    telemetry_path=web.telemetry_path, events=daemon.events)  # fmt: skip
    health_only = Routes.health_only(daemon.healthy, daemon.ready)
    health = parse_address(web.health_address) if web.health_address else None
    answering, tls = _guarded(routes, web_file)
    sockets = [(sock, address == health) for address, bound_here in bound.items() for sock in bound_here]
    sockets += [(one.sock, one.is_health) for one in passed]
    listeners: list[Listener] = [(sock, health_only, None) if is_health else (sock, answering, tls) for sock, is_health in sockets]
    listeners += [(sock, ControlRoutes(_actions(daemon, service), daemon.status, daemon.health), None) for sock in control]
    gc.collect()
    gc.freeze()  # what exists now lives as long as the daemon; the collector need not look at it again
    await asyncio.gather(serve(listeners, Limits(connections=web.max_connections), stop), service.feed(stop))


def _actions(daemon: Daemon, service: Service) -> dict[str, Action]:
    """What the control socket may ask for, by path."""
    return {
        RELEASE_PATH: lambda _query: daemon.release(),
        RESUME_PATH: lambda _query: daemon.resume(),
        RELOAD_PATH: lambda _query: service.reload(),
        MAINTENANCE_ON_PATH: daemon.maintenance_on,
        MAINTENANCE_OFF_PATH: lambda _query: daemon.maintenance_off(),
    }


def _reload_aside(service: Service) -> None:
    """Reload in a thread: stopping the old sampler may wait for a slow device, and scrapes must not."""
    threading.Thread(target=service.reload, name="reload", daemon=True).start()


def _announce(daemon: Daemon, addresses: Sequence[Address], names: Sequence[object], web_file: "WebFile | None") -> None:
    path = daemon.config.web.telemetry_path
    for name in names:
        shown = name if isinstance(name, str) else _host_port(name)
        log.info("fabric-exporter %s listening on %s", __version__, shown)
    if web_file is not None:
        log.info("web configuration: %s", web_file.summary)
    scheme = "https" if web_file is not None and web_file.has_tls else "http"
    if daemon.config.simulate.profile is None:
        return
    ports = [name[1] for name in names if isinstance(name, tuple)]
    node = daemon.config.simulate.profile.partition(",")[0]
    print(f"\n  SIMULATED NODE {node}: every number is invented, no hardware is read\n", file=sys.stderr)
    if ports:
        shown = next((a.host for a in addresses if isinstance(a, TcpAddress) and a.host), "") or "localhost"
        base = f"{scheme}://[{shown}]:{ports[0]}" if ":" in shown else f"{scheme}://{shown}:{ports[0]}"
        print(f"  metrics  {base}{path}\n  status   {base}/\n\n  Ctrl-C stops it.\n", file=sys.stderr)


def _host_port(name: object) -> str:
    """A socket's own name as a person writes it; port 0 has become the one that the kernel chose."""
    host, port = name[:2] if isinstance(name, tuple) else (name, "")
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"


def _leave(stuck: Sequence[str], status: Exit) -> int:
    """That status. A thread stuck in the kernel must not keep the process: then leave without waiting for it."""
    if not stuck:
        return status
    log.warning("reads still out: %s; the kernel may delay the end of this process", ", ".join(stuck))
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(status)
