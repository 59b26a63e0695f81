/// Reads the words of steps.
struct MergeStepReader {
    private var rest: Substring

    /// Reads one step that fills all of a word; nil if it is none.
    static func step(_ word: Substring) -> MergeStep? {
        var reader = MergeStepReader(rest: word)
        guard let step = reader.step(), reader.rest.isEmpty else { return nil }
        return step
    }

    private mutating func step() -> MergeStep? {
        if self.rest.first == "+" { return self.numbers(1).map { .wait(seconds: $0[0]) } }
        guard let peer = self.number() else { return nil }
        switch self.rest.first {
        case "<":
            guard let numbers = self.numbers(2) else { return nil }
            return .deliver(to: peer, chain: numbers[0], count: numbers[1])
        case "=": return self.numbers(1).map { .synchronise(to: peer, from: $0[0]) }
        case "~":
            guard let numbers = self.numbers(2) else { return nil }
            return .repeated(to: peer, chain: numbers[0], number: numbers[1])
        case "(":
            self.rest.removeFirst()
            return .backUp(peer: peer)
        case ")":
            self.rest.removeFirst()
            return .restore(peer: peer, of: self.number() ?? peer)
        case "&":
            self.rest.removeFirst()
            return .reopen(peer: peer)
        case "?":
            guard let numbers = self.numbers(2), let kind = MergeLie.Kind(rawValue: numbers[0]) else { return nil }
            return UInt16(exactly: numbers[1]).map { .lie(peer: peer, MergeLie(kind, salt: $0)) }
        case "!": return self.clock().map { .setClock(peer: peer, $0) }
        default: return self.write(by: peer)
        }
    }

    private mutating func clock() -> PlannedClock? {
        if self.rest.hasPrefix("!+") {
            self.rest.removeFirst()
            return self.small().map { .aheadBy(seconds: $0) }
        }
        let clocks: [PlannedClock] = [.right, .ahead, .behind]
        return self.numbers(1).flatMap { clocks.indices.contains($0[0]) ? clocks[$0[0]] : nil }
    }

    private mutating func write(by peer: Int) -> MergeStep? {
        var pause: UInt8 = 0
        if self.rest.first == "+" {
            guard let small = self.small() else { return nil }
            pause = small
        }
        var edits: [PlannedEdit] = []
        while !self.rest.isEmpty {
            guard let edit = self.edit() else { return nil }
            edits.append(edit)
        }
        return edits.isEmpty ? nil : .write(peer: peer, pause: pause, edits: edits)
    }

    private mutating func edit() -> PlannedEdit? {
        let letter = self.rest.first
        guard let object = self.small() else { return nil }
        switch letter {
        case "c":
            guard self.rest.first == "." else { return .create(object) }
            return self.small().map { .create(object, sort: $0) }
        case "d": return .delete(object)
        case "u": return self.small().map { .unset(object, name: $0) }
        case "s":
            guard let name = self.small(), let value = self.small() else { return nil }
            return .set(object, name: name, value: value)
        case "n":
            guard let name = self.small(), let value = self.numbers(1) else { return nil }
            return .setNumber(object, name: name, value[0])
        case "x": return self.small().map { .unknown(kind: object, byteCount: $0) }
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

    /// A number below 256 behind one sign.
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
