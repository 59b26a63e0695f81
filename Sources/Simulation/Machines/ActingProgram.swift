internal import CRDTCore
internal import Engine

/// The program that a machine's user works with.
struct ActingProgram: Sendable {
    /// Nil for the one without a name, of which each write is an action by itself.
    private(set) var number: Int?
    /// With which change on each timeline the last action of each program began.
    private var firsts: [Int: [BranchID?: Dot]] = [:]

    var label: String { self.number.map { "program \($0)" } ?? "" }

    /// From now on a program writes: it begins an action, or goes on with its last one.
    mutating func act(_ number: Int?, isNew: Bool) {
        self.number = number
        if let number, isNew { self.firsts[number] = nil }
    }

    /// What its next write on a timeline belongs to.
    func context(on branch: BranchID?) -> ActionContext {
        ActionContext(label: self.label, first: self.number.flatMap { self.firsts[$0]?[branch] ?? nil })
    }

    /// Takes note of a write that belongs to its action.
    mutating func note(_ dot: Dot, on branch: BranchID?) {
        guard let number = self.number, self.firsts[number]?[branch]?.replica != dot.replica else { return }
        self.firsts[number, default: [:]][branch] = dot
    }
}
