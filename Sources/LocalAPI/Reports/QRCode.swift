internal import CQREncode

/// A QR code of a text, with the lowest error correction: a screen is not a crumpled label.
package struct QRCode {
    /// Modules along one side.
    package let size: Int
    private let dark: [Bool]

    /// A larger one is wider than terminals are.
    private static let versionMax = 20
    private static let border = 2

    /// Nil for a text that is empty or too long, or if memory runs out.
    package init?(text: String) {
        let content = Array(text.utf8)
        guard let count = Int32(exactly: content.count),
            let code = QRcode_encodeData(count, content, 0, QR_ECLEVEL_L)
        else { return nil }
        defer { QRcode_free(code) }
        guard code.pointee.version <= Self.versionMax, let modules = code.pointee.data else { return nil }
        self.size = Int(code.pointee.width)
        self.dark = (0..<self.size * self.size).map { modules[$0] & 1 == 1 }
    }

    package subscript(row: Int, column: Int) -> Bool {
        (0..<self.size).contains(row) && (0..<self.size).contains(column) && self.dark[row * self.size + column]
    }

    /// Two rows of modules a line of text, light on dark inverted so that it scans on either background.
    package var terminalText: String {
        var text = ""
        for row in stride(from: -Self.border, to: self.size + Self.border, by: 2) {
            text += "\u{1b}[30;107m"
            for column in -Self.border..<self.size + Self.border {
                switch (self[row, column], self[row + 1, column]) {
                case (true, true): text += "█"
                case (true, false): text += "▀"
                case (false, true): text += "▄"
                case (false, false): text += " "
                }
            }
            text += "\u{1b}[0m\n"
        }
        return text
    }
}
