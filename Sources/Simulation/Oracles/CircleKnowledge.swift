internal import CRDTCore
internal import Engine

/// What a machine knows of the circles that it has something of.
struct CircleKnowledge {
    private(set) var circles: [Circle: Known] = [:]

    /// One of them: all of its changes here, and which devices read it.
    struct Known: Equatable {
        var frontier: Frontier
        var readers: Set<DeviceID>
        /// The users whom somebody who could has given something there, at any time.
        var guests: Set<UserID>
    }

    init(
        of transaction: inout some StoreTransaction,
        founder: UserID,
        _ authors: [ChainAuthor]
    ) throws(StoreError) {
        for number in 0..<UInt32(transaction.circles.count) {
            let index = CircleIndex(rawValue: number)
            let frontier = try Frontier(of: &transaction, within: CircleScope([index]))
            guard !frontier.entries.isEmpty else { continue }
            let circle = transaction.circles[index]
            let owner = circle.owner(founder: founder)
            let rights = transaction.rights.rights(in: index)
            let readers = authors.filter { rights?.reads($0) ?? ($0.user == owner) }
            self.circles[circle] = Known(
                frontier: frontier,
                readers: Set(readers.map { $0.line[0] }),
                guests: Set((rights?.allGrants ?? []).map(\.user))
            )
        }
    }
}

/// Who of some machines has to have what, by the word of those who decide about it.
struct Readership {
    private let machines: [Machine]
    private let known: [Int: CircleKnowledge]
    /// The machines that are of the workspace, and have not been removed.
    private(set) var standing: Set<Int> = []
    /// By circle, those that read it now, if that is not in doubt.
    private(set) var readers: [Circle: Set<Int>] = [:]

    init?(_ machines: [Machine]) {
        self.machines = machines
        let authors = machines.map(\.author)
        var known: [Int: CircleKnowledge] = [:]
        for machine in machines {
            let founder = machine.founder
            let found = machine.look { transaction throws(StoreError) in
                try CircleKnowledge(of: &transaction, founder: founder, authors)
            }
            guard let found else { return nil }
            known[machine.number] = found
        }
        self.known = known
        guard let founder = machines.first?.founder else { return nil }
        // Before anybody else was let in there is no roster.
        let all = Set(machines.map(\.number))
        let isEmpty = known.values.allSatisfy { $0.circles[.roster] == nil }
        let members = isEmpty ? all : self.readers(of: .roster, owner: founder, among: all)
        self.standing = members ?? []
        guard members != nil else { return }
        for circle in Set(known.values.flatMap(\.circles.keys)) {
            let owner = circle.owner(founder: founder)
            // Who has no machine there any more decides nothing; what his own say to each other is theirs.
            let isThere = machines.contains { self.standing.contains($0.number) && $0.user == owner }
            let hasGuests = known.values.contains { !($0.circles[circle]?.guests.isEmpty ?? true) }
            guard isThere || hasGuests else { continue }
            self.readers[circle] = self.readers(of: circle, owner: owner, among: self.standing)
        }
    }

    /// Those who read a circle by the word of its owner's machines, or, without any, if all who have it say the same.
    private func readers(of circle: Circle, owner: UserID, among candidates: Set<Int>) -> Set<Int>? {
        func word(_ machine: Machine) -> Set<DeviceID>? { self.known[machine.number]?.circles[circle]?.readers }
        var deciders: [Machine] = []
        let owners = self.machines.filter { candidates.contains($0.number) && $0.user == owner && word($0) != nil }
        let sorted = owners.sorted { left, right in
            let (mine, theirs) = (left.author, right.author)
            return (theirs.generation, mine.line.count, left.number)
                < (mine.generation, theirs.line.count, right.number)
        }
        // Who was removed decides nothing, and may not know of it: others may have heard it from one that is gone.
        var removed: Set<DeviceID> = []
        for machine in sorted {
            let isLeft = self.machines.allSatisfy { other in
                other === machine || removed.contains(other.device)
                    || (word(other)?.contains(machine.device) ?? true)
            }
            if isLeft { deciders.append(machine) } else { removed.insert(machine.device) }
        }
        if deciders.isEmpty {
            deciders = self.machines.filter { machine in
                candidates.contains(machine.number) && !removed.contains(machine.device)
                    && word(machine)?.contains(machine.device) ?? false
                    && !(machine.closedCircles?.contains(circle) ?? false)
            }
            guard Set(deciders.compactMap(word)).count < 2 else { return nil }
        }
        guard !deciders.isEmpty else { return nil }
        let readers = self.machines.filter { machine in
            candidates.contains(machine.number)
                && deciders.allSatisfy { word($0)?.contains(machine.device) ?? false }
        }
        return Set(readers.map(\.number))
    }

    /// Whether a machine reads all that it has.
    func readsAll(_ machine: Machine) -> Bool {
        self.standing.contains(machine.number)
            && (self.known[machine.number]?.circles ?? [:]).keys.allSatisfy { circle in
                circle == .roster || self.readers[circle]?.contains(machine.number) ?? false
            }
    }

    /// Of which circle somebody who reads it has not all, in words; nil if of none.
    var gap: String? {
        for circle in self.readers.keys.sorted(by: { "\($0)" < "\($1)" }) {
            let numbers = (self.readers[circle] ?? []).sorted()
            let owned = numbers.first.flatMap { self.known[$0]?.circles[circle] }
            for number in numbers.dropFirst() where self.known[number]?.circles[circle] != owned {
                return "machines \(numbers[0]) and \(number) do not have the same of \(Self.word(circle)): "
                    + "\(self.words(numbers[0], circle)); \(self.words(number, circle))"
            }
        }
        return nil
    }

    private func words(_ machine: Int, _ circle: Circle) -> String {
        guard let known = self.known[machine]?.circles[circle] else { return "nothing" }
        let chains = known.frontier.entries.map { "\($0.replica.description.prefix(4)):\($0.sequence)" }
        return chains.joined(separator: " ")
    }

    static func word(_ circle: Circle) -> String {
        switch circle {
        case .home: "home"
        case .roster: "the roster"
        case .shared: "a share"
        case .beside: "a hidden property"
        }
    }
}
