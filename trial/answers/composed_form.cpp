// The composed form of letters with marks, for programs that vary between both forms.
//
// Source of the pairs: UnicodeData.txt of Unicode 15, canonical decompositions of Latin, Greek,
// Cyrillic and kana; Hangul by the arithmetic of chapter 3.12 of the Unicode Standard.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "trial/answers/text_distance.h"

namespace ocrtune {
namespace {

struct MarkRow {
  char32_t mark;
  std::u32string_view pairs;  // letter, letter with the mark, next letter ...
};

constexpr MarkRow kMarks[] = {
    {0x0300,
     U"AÀEÈIÌNǸOÒUÙWẀYỲaàeèiìnǹoòuùwẁyỳÂẦÊỀÔỒÜǛ"
     U"âầêềôồüǜĂẰăằĒḔēḕŌṐōṑƠỜơờƯỪưừΑᾺΕῈΗῊΙῚΟῸΥῪ"
     U"ΩῺαὰεὲηὴιὶοὸυὺωὼϊῒϋῢЕЀИЍеѐиѝ"},
    {0x0301,
     U"AÁCĆEÉGǴIÍKḰLĹMḾNŃOÓPṔRŔSŚUÚWẂYÝZŹaácćeé"
     U"gǵiíkḱlĺmḿnńoópṕrŕsśuúwẃyýzźÂẤÅǺÆǼÇḈÊẾÏḮ"
     U"ÔỐÕṌØǾÜǗâấåǻæǽçḉêếïḯôốõṍøǿüǘĂẮăắĒḖēḗŌṒōṓ"
     U"ŨṸũṹƠỚơớƯỨưứΑΆΕΈΗΉΙΊΟΌΥΎΩΏαάεέηήιίοόυύωώ"
     U"ϊΐϋΰϒϓГЃКЌгѓкќ"},
    {0x0302,
     U"AÂCĈEÊGĜHĤIÎJĴOÔSŜUÛWŴYŶZẐaâcĉeêgĝhĥiîjĵ"
     U"oôsŝuûwŵyŷzẑẠẬạậẸỆẹệỌỘọộ"},
    {0x0303,
     U"AÃEẼIĨNÑOÕUŨVṼYỸaãeẽiĩnñoõuũvṽyỹÂẪÊỄÔỖâẫ"
     U"êễôỗĂẴăẵƠỠơỡƯỮưữ"},
    {0x0304,
     U"AĀEĒGḠIĪOŌUŪYȲaāeēgḡiīoōuūyȳÄǞÆǢÕȬÖȪÜǕäǟ"
     U"æǣõȭöȫüǖǪǬǫǭȦǠȧǡȮȰȯȱΑᾹΙῙΥῩαᾱιῑυῡИӢУӮиӣуӯ"
     U"ḶḸḷḹṚṜṛṝ"},
    {0x0306,
     U"AĂEĔGĞIĬOŎUŬaăeĕgğiĭoŏuŭȨḜȩḝΑᾸΙῘΥῨαᾰιῐυῠ"
     U"АӐЕӖЖӁИЙУЎаӑеӗжӂийуўẠẶạặ"},
    {0x0307,
     U"AȦBḂCĊDḊEĖFḞGĠHḢIİMṀNṄOȮPṖRṘSṠTṪWẆXẊYẎZŻ"
     U"aȧbḃcċdḋeėfḟgġhḣmṁnṅoȯpṗrṙsṡtṫwẇxẋyẏzżŚṤ"
     U"śṥŠṦšṧſẛṢṨṣṩ"},
    {0x0308,
     U"AÄEËHḦIÏOÖUÜWẄXẌYŸaäeëhḧiïoötẗuüwẅxẍyÿÕṎ"
     U"õṏŪṺūṻΙΪΥΫιϊυϋϒϔІЇАӒЕЁЖӜЗӞИӤОӦУӰЧӴЫӸЭӬаӓ"
     U"еёжӝзӟиӥоӧуӱчӵыӹэӭіїӘӚәӛӨӪөӫ"},
    {0x0309,
     U"AẢEẺIỈOỎUỦYỶaảeẻiỉoỏuủyỷÂẨÊỂÔỔâẩêểôổĂẲăẳ"
     U"ƠỞơởƯỬưử"},
    {0x030a, U"AÅUŮaåuůwẘyẙ"},
    {0x030b, U"OŐUŰoőuűУӲуӳ"},
    {0x030c,
     U"AǍCČDĎEĚGǦHȞIǏKǨLĽNŇOǑRŘSŠTŤUǓZŽaǎcčdďeě"
     U"gǧhȟiǐjǰkǩlľnňoǒrřsštťuǔzžÜǙüǚƷǮʒǯ"},
    {0x031b,
     U"OƠUƯoơuưÒỜÓỚÕỠÙỪÚỨòờóớõỡùừúứŨỮũữỌỢọợỎỞỏở"
     U"ỤỰụựỦỬủử"},
    {0x0323,
     U"AẠBḄDḌEẸHḤIỊKḲLḶMṂNṆOỌRṚSṢTṬUỤVṾWẈYỴZẒaạ"
     U"bḅdḍeẹhḥiịkḳlḷmṃnṇoọrṛsṣtṭuụvṿwẉyỵzẓÂẬÊỆ"
     U"ÔỘâậêệôộĂẶăặƠỢơợƯỰưựṠṨṡṩ"},
    {0x0327,
     U"CÇDḐEȨGĢHḨKĶLĻNŅRŖSŞTŢcçdḑeȩgģhḩkķlļnņrŗ"
     U"sştţĆḈćḉĔḜĕḝ"},
    {0x0328, U"AĄEĘIĮOǪUŲaąeęiįoǫuųŌǬōǭ"},
    {0x0331, U"BḆDḎKḴLḺNṈRṞTṮZẔbḇdḏhẖkḵlḻnṉrṟtṯzẕ"},
    {0x032d, U"DḒEḘLḼNṊTṰUṶdḓeḙlḽnṋtṱuṷ"},
    {0x3099,
     U"うゔかがきぎくぐけげこごさざしじすずせぜそぞただちぢつづてでとどはばひびふぶへべ"
     U"ほぼゝゞウヴカガキギクグケゲコゴサザシジスズセゼソゾタダチヂツヅテデトドハバヒビ"
     U"フブヘベホボワヷヰヸヱヹヲヺヽヾ"},
    {0x309a, U"はぱひぴふぷへぺほぽハパヒピフプヘペホポ"},
};

// 0: they do not compose.
char32_t composed(char32_t letter, char32_t mark) {
  // The numbers of chapter 3.12: 19 leads, 21 vowels, 27 tails behind the empty one.
  constexpr char32_t kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11a7, kSyllables = 0xac00;
  if (letter >= kLeads && letter < kLeads + 19 && mark >= kVowels && mark < kVowels + 21) {
    return kSyllables + ((letter - kLeads) * 21 + mark - kVowels) * 28;
  }
  const bool open = letter >= kSyllables && letter < 0xd7a4 && (letter - kSyllables) % 28 == 0;
  if (open && mark > kTails && mark < kTails + 28) return letter + mark - kTails;
  // A linear search: marks are rare, and a text is brought into this form once.
  const MarkRow* row = std::find_if(std::begin(kMarks), std::end(kMarks),
                                    [&](const MarkRow& one) { return one.mark == mark; });
  if (row == std::end(kMarks)) return 0;
  for (std::size_t i = 0; i + 1 < row->pairs.size(); i += 2) {
    if (row->pairs[i] == letter) return row->pairs[i + 1];
  }
  return 0;
}

char32_t half_width(char32_t character) {
  // The full width forms stand in ASCII's order. The ideographic space is U+3000.
  if (character >= 0xff01 && character <= 0xff5e) return character - 0xff01 + '!';
  return character == 0x3000 ? ' ' : character;
}

}  // namespace

std::string composed_form(std::string_view text) {
  std::u32string form;
  for (const char32_t character : characters_of(text)) {
    // With the last character as it stands now, so that several marks compose one by one.
    const char32_t whole = form.empty() ? 0 : composed(form.back(), character);
    if (whole != 0) {
      form.back() = whole;
    } else {
      form += half_width(character);
    }
  }
  return utf8_of(form);
}

}  // namespace ocrtune
