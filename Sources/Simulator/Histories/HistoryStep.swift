/// One edit of a change, by the numbers of what it is about.
enum HistoryEdit: Hashable, Sendable {
    case create(UInt8)
    case set(UInt8, name: UInt8, value: UInt8)
    case unset(UInt8, name: UInt8)
    /// Without a parent: to the root.
    case move(UInt8, parent: UInt8?, position: UInt8)
    case delete(UInt8)
    /// Restamps a peer's chain, from a sequence to the change with a number in the order in which the peer wrote them.
    case restamp(UInt8, from: UInt8, to: UInt8)
}

/// What happens next in a history: somebody writes, or something arrives.
enum HistoryStep: Hashable, Sendable {
    /// A peer commits edits as one change, some milliseconds after what was written before it anywhere.
    case write(peer: Int, pause: UInt8, edits: [HistoryEdit])
    /// The next changes of one peer's chain come to a peer in one transaction, whoever has them.
    case deliver(to: Int, chain: Int, count: Int)
    /// All that another peer has and this one has not comes to it in one transaction.
    case synchronise(to: Int, from: Int)
    /// One change comes alone: it is there already, or comes too early, or just fits.
    case repeated(to: Int, chain: Int, number: Int)
    /// A peer's database is copied.
    case backUp(peer: Int)
    /// A peer's database is replaced by the last copy, or by what it was in the beginning.
    case restore(peer: Int)
    /// A peer's clock is set.
    case setClock(peer: Int, HistoryClock)
}

/// How a peer's clock is set.
enum HistoryClock: Int, CaseIterable, Sendable {
    case right
    /// So far ahead that others hold what is stamped by it.
    case ahead
    /// Behind what was written before.
    case behind
}

// MARK: - As text

// A step is a word: `0+3c1s1.2.5` (peer 0 writes after 3 ms: creates object 1 and sets its property 2 to value 5),
// `0<1.4` (four changes of chain 1 come to peer 0), `0=2` (all that peer 2 has comes to peer 0), `0~1.7` (change 7 of
// chain 1 comes to peer 0 alone), `0(` (the database of peer 0 is copied), `0)` (and put back), `0!1` (its clock is set
// ahead). `0r1.2.5` restamps chain 1, from its sequence 2 to its fifth change.

extension HistoryEdit: CustomStringConvertible {
    var description: String {
        switch self {
        case .create(let object): "c\(object)"
        case .set(let object, let name, let value): "s\(object).\(name).\(value)"
        case .unset(let object, let name): "u\(object).\(name)"
        case .move(let object, let parent, let position):
            "m\(object).\(parent.map { String($0) } ?? "-").\(position)"
        case .delete(let object): "d\(object)"
        case .restamp(let chain, let first, let last): "r\(chain).\(first).\(last)"
        }
    }
}

extension HistoryStep: CustomStringConvertible {
    var description: String {
        switch self {
        case .write(let peer, let pause, let edits):
            "\(peer)\(pause > 0 ? "+\(pause)" : "")\(edits.map(\.description).joined())"
        case .deliver(let peer, let chain, let count): "\(peer)<\(chain).\(count)"
        case .synchronise(let peer, let other): "\(peer)=\(other)"
        case .repeated(let peer, let chain, let number): "\(peer)~\(chain).\(number)"
        case .backUp(let peer): "\(peer)("
        case .restore(let peer): "\(peer))"
        case .setClock(let peer, let clock): "\(peer)!\(clock.rawValue)"
        }
    }
}

/// Reads the words of steps.
struct HistoryStepReader {
    private var rest: Substring

    /// Reads one step that fills all of a word; nil if it is none.
    static func step(_ word: Substring) -> HistoryStep? {
        var reader = HistoryStepReader(rest: word)
        guard let peer = reader.number(), let step = reader.step(of: peer), reader.rest.isEmpty else { return nil }
        return step
    }

    private mutating func step(of peer: Int) -> HistoryStep? {
        switch self.rest.first {
        case "<":
            guard let numbers = self.numbers(2) else { return nil }
            return .deliver(to: peer, chain: numbers[0], count: numbers[1])
        case "=": return self.numbers(1).map { .synchronise(to: peer, from: $0[0]) }
        case "~":
            guard let numbers = self.numbers(2) else { return nil }
            return .repeated(to: peer, chain: numbers[0], number: numbers[1])
        case "(", ")": return self.rest.removeFirst() == "(" ? .backUp(peer: peer) : .restore(peer: peer)
        case "!":
            return self.numbers(1).flatMap { HistoryClock(rawValue: $0[0]) }.map { .setClock(peer: peer, $0) }
        default:
            var pause: UInt8 = 0
            if self.rest.first == "+" {
                guard let numbers = self.numbers(1), let small = UInt8(exactly: numbers[0]) else { return nil }
                pause = small
            }
            var edits: [HistoryEdit] = []
            while !self.rest.isEmpty {
                guard let edit = self.edit() else { return nil }
                edits.append(edit)
            }
            return edits.isEmpty ? nil : .write(peer: peer, pause: pause, edits: edits)
        }
    }

    private mutating func edit() -> HistoryEdit? {
        let letter = self.rest.first
        guard let object = self.numbers(1).flatMap({ UInt8(exactly: $0[0]) }) else { return nil }
        switch letter {
        case "c": return .create(object)
        case "d": return .delete(object)
        case "u": return self.small().map { .unset(object, name: $0) }
        case "s":
            guard let name = self.small(), let value = self.small() else { return nil }
            return .set(object, name: name, value: value)
        case "r":
            guard let first = self.small(), let last = self.small() else { return nil }
            return .restamp(object, from: first, to: last)
        case "m":
            if self.rest.hasPrefix(".-") {
                self.rest.removeFirst(2)
                return self.small().map { .move(object, parent: nil, position: $0) }
            }
            guard let parent = self.small(), let position = self.small() else { return nil }
            return .move(object, parent: parent, position: position)
        default: return nil
        }
    }

    /// A number below 256 behind a dot.
    private mutating func small() -> UInt8? { self.numbers(1).flatMap { UInt8(exactly: $0[0]) } }

    /// Numbers, each behind one sign, which must be a dot from the second on.
    private mutating func numbers(_ count: Int) -> [Int]? {
        var numbers: [Int] = []
        while numbers.count < count {
            guard let sign = self.rest.popFirst(), numbers.isEmpty || sign == ".", let number = self.number() else {
                return nil
            }
            numbers.append(number)
        }
        return numbers
    }

    private mutating func number() -> Int? {
        let digits = self.rest.prefix { $0.isASCII && $0.isNumber }
        self.rest = self.rest.dropFirst(digits.count)
        return digits.count <= 9 ? Int(digits) : nil
    }
}
