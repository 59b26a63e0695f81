internal import Engine

/// What the event queue holds.
enum Occurrence {
    /// The next action of the plan is due.
    case action(Int)
    /// The alarm with this number goes off.
    case alarm(machine: Int, number: UInt64)
    /// The first segment of a lane arrives.
    case arrival(Wire, lane: Int)
    /// Something that only the process it was meant for hears of.
    case event(machine: Int, incarnation: Int, Event)
    /// Nobody has answered a dial for too long.
    case dialTimeout(Wire)
    case start(machine: Int)
    case resume(machine: Int, incarnation: Int)
    /// Links may let through again what waits on them.
    case release
    case diskHasRoom(machine: Int)
    case diskIsHonest(machine: Int)
    /// A stranger goes on.
    case stranger(Wire, chunks: [[UInt8]], every: VirtualTime)
    /// Somebody writes on a machine that no plan knew of.
    case work(machine: Int, [WorkStep])
    /// The oracles look at everything.
    case inspection
}
