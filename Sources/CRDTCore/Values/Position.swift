/// A fractional index: a byte string that sorts an object among its siblings, with room for another between any two.
///
/// A position is an integer of variable length, whose first letter tells its length, and a base-62 fraction, so that
/// appending a million siblings makes positions of five bytes, not of a thousand (D. Greenspan, "Implementing
/// Fractional Indexing", 2020). Peers may send any bytes; they sort all the same.
package struct Position: Hashable, Comparable, Sendable {
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// The position of an object that was never given one: before all others.
    package static let initial = Position(bytes: [])

    package static func < (left: Position, right: Position) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    /// A position between two others; nil stands for "no bound".
    ///
    /// If the bounds are out of order, or bytes of another origin leave no room between them, the result directly
    /// follows the lower one.
    ///
    /// - Complexity: O(*n*) in the length of the bounds.
    package static func between(_ lower: Position?, _ upper: Position?) -> Position {
        let candidate = FractionalIndex.between(lower?.bytes, upper?.bytes).map { Position(bytes: $0) }
        if let candidate, lower.map({ $0 < candidate }) ?? true, upper.map({ candidate < $0 }) ?? true {
            return candidate
        }
        return Position(bytes: (lower?.bytes ?? []) + FractionalIndex.follower)
    }
}

/// The arithmetic of positions, on digit bytes.
private enum FractionalIndex {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let zero = UInt8(ascii: "0")
    private static let first = Array("a0".utf8)

    /// What is put behind bytes that are no position to get something after them.
    static let follower = Array("V".utf8)

    static func between(_ lower: [UInt8]?, _ upper: [UInt8]?) -> [UInt8]? {
        guard let lower, !lower.isEmpty else {
            guard let upper else { return self.first }
            guard let integer = self.integerPart(upper) else { return nil }
            if integer.count < upper.count { return integer }
            return self.decremented(integer)
        }
        guard let lowInteger = self.integerPart(lower) else { return nil }
        let lowFraction = lower[lowInteger.count...]
        guard let upper else {
            return self.incremented(lowInteger) ?? self.midpoint(lowFraction, nil).map { lowInteger + $0 }
        }
        guard let highInteger = self.integerPart(upper) else { return nil }
        if lowInteger == highInteger {
            return self.midpoint(lowFraction, upper[highInteger.count...]).map { lowInteger + $0 }
        }
        if let next = self.incremented(lowInteger), next.lexicographicallyPrecedes(upper) { return next }
        return self.midpoint(lowFraction, nil).map { lowInteger + $0 }
    }

    /// The integer at the front: `a` and one digit, `b` and two, … upwards; `Z` and one, `Y` and two, … downwards.
    private static func integerPart(_ bytes: [UInt8]) -> [UInt8]? {
        guard let head = bytes.first else { return nil }
        let digitCount: Int
        switch head {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digitCount = Int(head - UInt8(ascii: "a")) + 1
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digitCount = Int(UInt8(ascii: "Z") - head) + 1
        default: return nil
        }
        guard bytes.count > digitCount, bytes.dropFirst().allSatisfy({ self.value($0) != nil }) else { return nil }
        return Array(bytes.prefix(digitCount + 1))
    }

    private static func incremented(_ integer: [UInt8]) -> [UInt8]? {
        var result = integer
        for place in result.indices.dropFirst().reversed() {
            guard let value = self.value(result[place]) else { return nil }
            if value + 1 < self.digits.count {
                result[place] = self.digits[value + 1]
                return result
            }
            result[place] = self.zero
        }
        switch integer[0] {
        case UInt8(ascii: "Z"): return self.first
        case UInt8(ascii: "z"): return nil
        case UInt8(ascii: "a")...: return [integer[0] + 1] + Array(repeating: self.zero, count: integer.count)
        default: return [integer[0] + 1] + Array(repeating: self.zero, count: integer.count - 2)
        }
    }

    private static func decremented(_ integer: [UInt8]) -> [UInt8]? {
        let highest = self.digits[self.digits.count - 1]
        var result = integer
        for place in result.indices.dropFirst().reversed() {
            guard let value = self.value(result[place]) else { return nil }
            if value > 0 {
                result[place] = self.digits[value - 1]
                return result
            }
            result[place] = highest
        }
        switch integer[0] {
        case UInt8(ascii: "a"): return [UInt8(ascii: "Z"), highest]
        case UInt8(ascii: "A"): return nil
        case UInt8(ascii: "b")...: return [integer[0] - 1] + Array(repeating: highest, count: integer.count - 2)
        default: return [integer[0] - 1] + Array(repeating: highest, count: integer.count)
        }
    }

    /// A fraction strictly between two fractions, the upper of which may be missing; nil if nothing fits.
    private static func midpoint(_ lower: ArraySlice<UInt8>, _ upper: ArraySlice<UInt8>?) -> [UInt8]? {
        var result: [UInt8] = []
        var bounded = upper != nil
        for place in 0... {
            let low = lower.dropFirst(place).first ?? self.zero
            guard let floor = self.value(low) else { return nil }
            var ceiling = self.digits.count
            if bounded, let upper {
                guard let digit = upper.dropFirst(place).first, let value = self.value(digit) else { return nil }
                ceiling = value
            }
            if ceiling < floor { return nil }
            if ceiling - floor > 1 { return result + [self.digits[(floor + ceiling) / 2]] }
            result.append(low)
            if ceiling > floor { bounded = false }
        }
        return nil
    }

    private static func value(_ byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(byte - UInt8(ascii: "A")) + 10
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte - UInt8(ascii: "a")) + 36
        default: nil
        }
    }
}

/// Where an object stands among siblings, of which several may have one position.
package struct SiblingPlace: Hashable, Comparable, Sendable {
    package var position: Position
    package var id: ObjectID

    package init(position: Position, id: ObjectID) {
        self.position = position
        self.id = id
    }

    package static func < (left: SiblingPlace, right: SiblingPlace) -> Bool {
        left.position == right.position ? left.id < right.id : left.position < right.position
    }
}
