import Foundation
import PeerdKit

/// Objects whose ids follow from their numbers, so that the process that reads them knows them in advance.
///
/// Every hundredth is a folder at the root; those behind it are in it. Each has ten properties.
enum SyntheticObjects {
    private static let folderSize = 100
    private static let propertyCount = 10

    static func id(_ number: Int) -> ObjectID {
        let (high, low) = (self.mixed(UInt64(number) * 2 + 1), self.mixed(UInt64(number) * 2 + 2))
        let text = [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        guard let id = ObjectID(text: text.joined()) else { preconditionFailure("32 digits are an id") }
        return id
    }

    /// Objects of these numbers, in the form that an import takes.
    static func json(_ numbers: Range<Int>) -> Data {
        Data("[\(numbers.map(self.element).joined(separator: ",\n"))]".utf8)
    }

    private static func element(_ number: Int) -> String {
        let folder = number / self.folderSize * self.folderSize
        let parent = number == folder ? "" : "\"parent\": \"\(self.id(folder))\", "
        let properties = (0..<self.propertyCount).map { property -> String in
            let value = self.mixed(UInt64(number * self.propertyCount + property)) % 1_000_000
            return "\"property\(property)\": \(value)"
        }
        let type = number == folder ? "folder" : "item"
        let members = properties.joined(separator: ", ")
        return "{\"id\": \"\(self.id(number))\", \"type\": \"\(type)\", \(parent)\"properties\": {\(members)}}"
    }

    /// The mixing function of SplitMix64.
    static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &* 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
