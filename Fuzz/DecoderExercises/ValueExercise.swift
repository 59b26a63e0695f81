internal import CRDTCore

/// Decodes a property value, and takes it to JSON and back.
enum ValueExercise {
    static func seeds() -> [[UInt8]] { Samples.values.map { $0.encoded } }

    static func complaint(_ input: [UInt8]) -> String? {
        let isValid = (try? Value.validate(input[...])) != nil
        guard let value = try? Value(encoded: input) else { return isValid ? "validated but not decoded" : nil }
        guard isValid else { return "decoded but not validated" }
        guard value.encoded == input else { return "a value with two encodings" }
        let text = value.json.canonicalText
        guard let parsed = JSON(parsing: text.utf8) else { return "its JSON text cannot be parsed" }
        switch value {
        case .document: return nil
        default: return Value(parsed).encoded == input ? nil : "it does not come back from JSON"
        }
    }
}

/// Parses JSON text, and its canonical text again.
enum JSONExercise {
    static func seeds() -> [[UInt8]] {
        [
            #"{"a":[1,2.5,-0,1e300,1E-7,null,true,false,"x\n\"\u00e9\ud83d\ude00"],"b":{},"c":[]}"#,
            "[[[[[[[[[]]]]]]]]]", " 9223372036854775807 ", "-9223372036854775808", "18446744073709551616", "5e-324",
            #"{"$double":"7ff8000000000001"}"#, #"{"$bytes":"00ff"}"#,
        ].map { Array($0.utf8) } + Samples.values.map { Array($0.json.canonicalText.utf8) }
    }

    static func complaint(_ input: [UInt8]) -> String? {
        guard let json = JSON(parsing: input) else { return nil }
        let text = Array(json.canonicalText.utf8)
        guard let again = JSON(parsing: text) else { return "its canonical text cannot be parsed" }
        guard again == json, Array(again.canonicalText.utf8) == text else { return "its canonical text says another" }
        let value = Value(json)
        return Value(value.json).encoded == value.encoded ? nil : "its value does not come back from JSON"
    }
}

/// Makes positions between others: between any bytes, or one after another in a list that grows.
enum PositionExercise {
    static func seeds() -> [[UInt8]] {
        let grown: [UInt8] = [1, 0, 0, 0, 1, 2, 1, 1, 1, 1, 255, 255, 255, 255]
        return [grown, [0, 2] + Array("a0a1".utf8), [0, 3] + Array("a0Va0W".utf8), [0, 0] + Array("Zz".utf8)]
    }

    static func complaint(_ input: [UInt8]) -> String? {
        guard let selector = input.first else { return nil }
        return selector == 1 ? self.complaintGrowing(input.dropFirst()) : self.complaintBetweenAny(input.dropFirst())
    }

    private static func complaintBetweenAny(_ input: ArraySlice<UInt8>) -> String? {
        guard let split = input.first else { return nil }
        let lower = Position(bytes: Array(input.dropFirst().prefix(Int(split))))
        let upper = Position(bytes: Array(input.dropFirst().dropFirst(Int(split))))
        for bound in [nil, upper] {
            guard lower < Position.between(lower, bound) else { return "not after the lower bound" }
        }
        _ = Position.between(nil, upper)
        return nil
    }

    /// Each byte puts one more position into the gap it names.
    private static func complaintGrowing(_ script: ArraySlice<UInt8>) -> String? {
        var positions: [Position] = []
        for gap in script.prefix(400) {
            let place = gap == 255 ? positions.count : Int(gap) % (positions.count + 1)
            let lower = place > 0 ? positions[place - 1] : nil
            let upper = place < positions.count ? positions[place] : nil
            let made = Position.between(lower, upper)
            guard lower.map({ $0 < made }) ?? true, upper.map({ made < $0 }) ?? true else { return "not between" }
            guard made.bytes.count <= Limits.positionByteCountMax else { return "longer than peers accept" }
            positions.insert(made, at: place)
        }
        return nil
    }
}
