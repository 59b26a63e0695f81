@testable import Simulation

extension World {
    /// Two machines that have begun, and whose states are compared in all ways.
    static func watched() -> World {
        let plan = Plan(peerCount: 2, duration: .seconds(60), core: [0, 1])
        let world = World(plan: plan, tape: ChoiceTape(seed: 1))
        world.comparesAll = true
        world.begin()
        return world
    }
}
