internal import CRDTCore

/// Every write that a caller was told is durable, and who answers for it.
///
/// A write must count in the healed core if someone in it has held it on a disk that kept its promises. It is excused
/// only when everyone who held it is gone.
struct AcknowledgedWrites {
    package struct Write {
        /// The change, by what nobody can imitate: two changes of a forked chain have one dot.
        package var change: FrontierEntry
        /// The circle that it was written to.
        var circle: Circle
        /// The machine that acknowledged it.
        var author: Int
        /// Machines that hold it durably, as far as is followed up.
        var holders: Set<Int>
        /// Whether it claims no later time than it was, so that nobody whose clock is right ever held it.
        var isTimely: Bool
    }

    private(set) var writes: [Write] = []

    /// A change that has the dot of a write, as it was found in a store.
    typealias Found = (change: FrontierEntry, circle: Circle, isTimely: Bool)

    mutating func add(_ change: FrontierEntry, in circle: Circle, on machine: Int, isTimely: Bool) {
        self.writes.append(
            Write(change: change, circle: circle, author: machine, holders: [machine], isTimely: isTimely)
        )
    }

    /// A machine is gone, or its disk went back in time: others who hold what it held answer for it.
    mutating func holderIsGone(_ machine: Machine, _ machines: [Machine]) {
        let others = machines.filter {
            $0.number != machine.number && $0.condition != .failed && !$0.isTainted && $0.hostile == nil
        }
        for position in self.writes.indices where self.writes[position].holders.contains(machine.number) {
            self.writes[position].holders.remove(machine.number)
            guard self.writes[position].holders.isEmpty else { continue }
            let write = self.writes[position]
            for other in others where other.holds(write.change) {
                self.writes[position].holders.insert(other.number)
            }
        }
    }

    /// Whether somebody's write was lost with all who held it.
    var hasExcused: Bool { self.writes.contains { $0.holders.isEmpty } }

    /// The writes that must be there.
    var required: [Write] { self.writes.filter { !$0.holders.isEmpty } }
}
