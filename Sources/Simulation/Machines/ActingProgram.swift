internal import CRDTCore
internal import Engine

/// The program that a machine's user works with.
struct ActingProgram: Sendable {
    /// Nil for the one without a name, of which each write is an action by itself.
    private(set) var number: Int?
    /// With the stamp of which change on each timeline the last action of each program began.
    private var starts: [Int: [BranchID?: Stamp]] = [:]

    var label: String { self.number.map { "program \($0)" } ?? "" }

    /// From now on a program writes: it begins an action, or goes on with its last one.
    mutating func act(_ number: Int?, isNew: Bool) {
        self.number = number
        if let number, isNew { self.starts[number] = nil }
    }

    /// What its next write on a timeline belongs to.
    func context(on branch: BranchID?) -> ActionContext {
        ActionContext(label: self.label, start: self.number.flatMap { self.starts[$0]?[branch] ?? nil })
    }

    /// Takes note of a write that belongs to its action.
    mutating func note(_ receipt: WriteReceipt, on branch: BranchID?) {
        guard let number = self.number, let start = receipt.start else { return }
        self.starts[number, default: [:]][branch] = start
    }
}
