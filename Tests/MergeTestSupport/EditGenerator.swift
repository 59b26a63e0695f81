package import CRDTCore

/// Draws edits over few objects and few names, so that they collide.
package struct EditGenerator: Sendable {
    package let objects: [ObjectID]
    private let names: [String]

    package init(_ random: inout SplitMix64, lookalikes: Bool = false) {
        // Ids in an order unlike the one they are made in; the last is made of a meaning, as by `--key`.
        self.objects = (0..<3 + random.below(4)).map { number in
            ObjectID(bytes: Bytes16(high: SplitMix64.mixed(random.next()), low: UInt64(number)))
        }
        let names = EditGenerator.names.suffix(3 + random.below(3))
        self.names = lookalikes ? ["\u{e9}", "e\u{301}"] : Array(names)
    }

    package static let names = ["title", "", "ключ", "z", "body"]
    package static let positions = ["", "a0", "a0V", "a1", "Zz", "\u{1}", "~~~~"].map {
        Position(bytes: Array($0.utf8))
    }
    package static let values: [Value] = [
        .null, .bool(true), .bool(false), .int(0), .int(.min), .int(.max), .int(-1),
        .double(0.1), .double(bits: 0x8000_0000_0000_0000), .double(bits: 0x7ff8_0000_0000_0001),
        .double(bits: 0x7ff0_0000_0000_0001), .double(bits: 0xfff8_dead_beef_0000), .double(.infinity),
        .double(bits: 1), .string(""), .string("\u{e9}"), .string("e\u{301}"), .string("\u{0}"),
        .document("{\"a\":[1,2]}"), .bytes([]), .bytes([0, 255]),
        .blob(BlobReference(hash: .zero, byteCount: .max, mediaType: "audio/mp4")),
    ]

    /// The edits of one transaction.
    package func edits(_ random: inout SplitMix64) -> [Edit] {
        (0..<1 + random.below(3)).flatMap { _ in self.edit(&random) }
    }

    private func edit(_ random: inout SplitMix64) -> [Edit] {
        let object = random.pick(self.objects)
        switch random.below(100) {
        case 0..<14:
            return [.create(object, type: random.pick(["note", "task", ""]), kind: random.pick(["", "k"]))]
        case 14..<44:
            let value = random.chance(50) ? random.pick(EditGenerator.values) : .int(Int64(random.below(1000)))
            return [.set(object, name: random.pick(self.names), value: value)]
        case 44..<54: return [.unset(object, name: random.pick(self.names))]
        case 54..<82:
            let parent = random.chance(20) ? nil : random.pick(self.objects)
            return [.move(object, Place(parent: parent, position: random.pick(EditGenerator.positions)))]
        case 82..<95: return [.delete(object)]
        case 95..<98: return self.objects.map { .delete($0) }
        default: return [.unknown(kind: UInt8(100 + random.below(100)), body: random.bytes(random.below(5)))]
        }
    }
}
